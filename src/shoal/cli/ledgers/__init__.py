"""What the verbs of the ledger share: the options they ask for, and how entries are told."""
