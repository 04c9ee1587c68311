"""Looking at fitted models: `explore.tables` first, drawings of those tables (`explore.figures`) second."""
