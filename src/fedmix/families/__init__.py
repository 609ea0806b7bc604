"""Component families: log densities, sufficient statistics, M-steps and gradients."""
