"""Looking at fitted models: tables first, drawings of those tables second.

`explore.tables` has every table, `explore.figures` every drawing, `explore.checks` the posterior predictive checks,
`explore.graph` the network of correlations, `explore.export` what other programs read.
"""
