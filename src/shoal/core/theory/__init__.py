"""What two ideas share: knowledge, disclosure, location, odds, collusion, the adversary's view."""
