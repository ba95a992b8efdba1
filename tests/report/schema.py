# SPDX-License-Identifier: Apache-2.0
"""Validation against the part of JSON Schema that docs/schema uses."""

TYPES = {"object": dict, "array": list, "string": str, "null": type(None)}


def has_type(value, name):
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def check(value, schema, root, where="$"):
    """Raises ValueError with the place of the first fault."""
    def fail(text):
        raise ValueError("%s: %s" % (where, text))

    known = {"$schema", "$id", "$defs", "$ref", "title", "description", "type", "required", "additionalProperties",
             "properties", "items", "const", "enum", "minimum", "minItems", "maxItems"}
    if set(schema) - known:
        fail("the validator does not know %s" % (set(schema) - known))
    if "$ref" in schema:
        target = root
        for part in schema["$ref"][2:].split("/"):
            target = target[part]
        check(value, target, root, where)
    if "const" in schema and (value != schema["const"] or type(value) is not type(schema["const"])):
        fail("is not %r" % (schema["const"],))
    if "enum" in schema and value not in schema["enum"]:
        fail("%r is not one of %r" % (value, schema["enum"]))
    if "type" in schema:
        types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        if not any(has_type(value, t) for t in types):
            fail("%r is no %s" % (value, "/".join(types)))
    if "minimum" in schema and value is not None and value < schema["minimum"]:
        fail("%r is below %r" % (value, schema["minimum"]))
    if isinstance(value, dict):
        for key in schema.get("required", []):
            if key not in value:
                fail("'%s' is missing" % key)
        properties = schema.get("properties", {})
        for key, item in value.items():
            if key in properties:
                check(item, properties[key], root, where + "." + key)
            elif schema.get("additionalProperties") is False:
                fail("'%s' is not in the schema" % key)
            elif isinstance(schema.get("additionalProperties"), dict):
                check(item, schema["additionalProperties"], root, where + "." + key)
    if isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            fail("has %d items" % len(value))
        for k, item in enumerate(value):
            check(item, schema.get("items", {}), root, "%s[%d]" % (where, k))
