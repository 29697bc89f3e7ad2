"""Releases that follow an earlier one."""
