# SPDX-License-Identifier: Apache-2.0
"""Programs of users: loaded from files and modules, and the parts that the commands for them share."""
