"""What methods that publish levels share: ladders, the lattice of their nodes, and its search."""
