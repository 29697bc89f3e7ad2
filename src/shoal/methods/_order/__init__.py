"""What methods that gather people share: a line of people cut best, and classes joined."""
