"""The command line: each verb is one file, which parses, calls one public function and prints.

main        the list of verbs, whose files are loaded only when asked for, and how every run ends
options     the options that verbs share, and what is made of them
printing    results on standard output, progress on standard error
"""
