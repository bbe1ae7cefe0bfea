"""The command line `venmas`: a module for each command, options that they share, progress and output."""
