"""The command line: each verb is one file, which parses, calls one public function and prints.

main        the verbs' table; loads a verb's file only when it is asked for
outcome     how every run ends: the message and the exit code
options     the options that verbs share, and what is made of them
printing    results on standard output, progress on standard error
"""
