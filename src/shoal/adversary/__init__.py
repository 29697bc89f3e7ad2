"""What an adversary has of any release or table, and running attacks on it."""
