"""What methods that cut from the top down share: segments of rows, and the search of cuts."""
