/* SPDX-License-Identifier: Apache-2.0
 *
 * The policy of a check: what its user wants to hear of.
 */
#include <string.h>

#include "common.h"

#define CODE_ROW(name, value, severity, text, sentence) SPAD_FINDING_##name,
static const spad_finding_code all_codes[] = {SPAD_FINDING_LIST(CODE_ROW)};
#undef CODE_ROW

bool py_finding_code(spad_finding_code *out, const char *name) {
    for (size_t i = 0; i < sizeof all_codes / sizeof all_codes[0]; i++) {
        *out = all_codes[i];
        if (strcmp(spad_finding_name(*out), name) == 0) return true;
    }
    PyErr_Format(PyExc_ValueError, "'%s' is no code of a finding", name);
    return false;
}

bool py_severity(spad_severity *out, const char *name) {
    for (int severity = 0; strcmp(spad_severity_name((spad_severity)severity), "?") != 0;
         severity++) {
        *out = (spad_severity)severity;
        if (strcmp(spad_severity_name(*out), name) == 0) return true;
    }
    PyErr_Format(PyExc_ValueError, "'%s' is no severity: error, warning or advice", name);
    return false;
}

static bool take_compiler_faults(spad_compiler_policy *out, PyObject *word) {
    static const char *const words[] = {"", "error", "warning", "ignore"};
    *out = SPAD_COMPILER_FAULTS_KNOWN;
    if (word == NULL || word == Py_None) return true;
    const char *text = py_chars(word);
    if (text == NULL) return false;
    for (int i = 1; i < 4; i++) {
        *out = (spad_compiler_policy)i;
        if (strcmp(text, words[i]) == 0) return true;
    }
    PyErr_Format(PyExc_ValueError, "compiler_faults is error, warning or ignore, not '%s'", text);
    return false;
}

/* {"SPAD-RACE": "ignore"}. */
static bool take_rules(py_policy *out, PyObject *rules) {
    PyObject *code, *word;
    Py_ssize_t at = 0;
    if (rules == NULL || rules == Py_None) return true;
    if (!PyDict_Check(rules)) {
        PyErr_SetString(PyExc_TypeError, "rules is a dict of codes and severities");
        return false;
    }
    out->levels = PyMem_Calloc((size_t)PyDict_Size(rules) + 1, sizeof *out->levels);
    if (out->levels == NULL) return PyErr_NoMemory() != NULL;
    while (PyDict_Next(rules, &at, &code, &word)) {
        spad_rule_level *level = &out->levels[out->policy.level_count++];
        const char *name = py_chars(code), *text = name != NULL ? py_chars(word) : NULL;
        if (text == NULL || !py_finding_code(&level->code, name)) return false;
        level->hide = strcmp(text, "ignore") == 0;
        if (!level->hide && !py_severity(&level->severity, text)) return false;
    }
    out->policy.levels = out->levels;
    return true;
}

bool py_policy_take(py_policy *out, PyObject *compiler_faults, PyObject *rules,
                    PyObject *baseline) {
    *out = (py_policy){0};
    if (!take_compiler_faults(&out->policy.compiler_faults, compiler_faults) ||
        !take_rules(out, rules) ||
        !py_names(&out->known, &out->policy.baseline_count, &out->keep,
                  baseline != NULL ? baseline : Py_None)) {
        py_policy_free(out);
        return false;
    }
    out->policy.baseline = out->known;
    return true;
}

void py_policy_free(py_policy *policy) {
    PyMem_Free((void *)policy->known);
    PyMem_Free(policy->levels);
    Py_XDECREF(policy->keep);
    *policy = (py_policy){0};
}
