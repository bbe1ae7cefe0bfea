"""What a cluster costs per subproblem, and from which size it pays."""
