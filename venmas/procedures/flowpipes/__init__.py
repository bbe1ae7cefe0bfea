"""Systems with smooth parts by zonotopes over all steps: see `venmas.procedures.flowpipes.procedure`."""
