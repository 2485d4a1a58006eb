# What the init container of the sidecar variant needs: nft, and nothing else of note. It runs once, before anybody else.
ARG BASE_IMAGE=debian:bookworm-slim
FROM ${BASE_IMAGE}
RUN apt-get update && apt-get install --yes --no-install-recommends nftables && rm -rf /var/lib/apt/lists/*
# So that `sallyport uninstall --docker` finds it.
LABEL sallyport-managed=true
ENTRYPOINT ["nft"]
