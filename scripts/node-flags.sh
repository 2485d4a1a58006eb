# Sourced by ./sallyport and bench/: how Node is started.
# The requests under way are what every collection of young objects has to copy: with more room there are fewer
# collections (bench/path-cost.mjs shows it). The same stands in the first line of scripts/main.cjs.
# shellcheck shell=bash disable=SC2034
node_flags=(--min-semi-space-size=8 --max-semi-space-size=32)
