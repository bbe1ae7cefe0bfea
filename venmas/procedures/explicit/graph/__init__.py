"""The graph of what is reached: found breadth first, labelled with fixpoints, explained by runs, written as boxes."""
