# The gateway and the witness: one image for both (docker-compose.yml says which is which). Holds no secret, runs as a user
# of its own, and writes nowhere but to its volumes.
# Any image with Node 20.19 or later and glibc will do.
ARG BASE_IMAGE=node:22-bookworm-slim

FROM ${BASE_IMAGE} AS build
# Here too: the older builder leaves this stage behind as an image without a name.
LABEL sallyport-managed=true
WORKDIR /build
COPY . .
# Where the network cannot be reached, docker/prebuilt may hold dist/, config/, dashboard/, package.json and node_modules/ as this makes
# them. koffi is the one package that is not in the bundle.
RUN mkdir /made && \
    if [ -f docker/prebuilt/dist/main.cjs ]; then cp -R docker/prebuilt/. /made/; \
    else \
      npm ci --no-audit --no-fund && \
      node scripts/build.mjs dist && \
      mkdir -p /made/node_modules && \
      cp -R dist config dashboard package.json /made/ && \
      cp -R node_modules/koffi node_modules/@koromix /made/node_modules/; \
    fi

FROM ${BASE_IMAGE}
COPY --from=build /made /opt/sallyport
COPY docker/sallyport docker/healthcheck /usr/local/bin/
# Volumes begin as what lies in their place here: state for the gateway alone; what sandboxes read; the witness's socket,
# which root makes and the gateway's group may use. What is mounted on /tmp takes its mode from there too.
RUN echo 'sallyport:x:10001:10001:Sallyport:/var/lib/sallyport:/bin/false' >>/etc/passwd && \
    echo 'sallyport:x:10001:' >>/etc/group && \
    chmod 755 /usr/local/bin/sallyport /usr/local/bin/healthcheck && \
    mkdir -p /var/lib/sallyport /handover /run/witness /etc/sallyport /tmp && chmod 1777 /tmp && \
    chown 10001:10001 /var/lib/sallyport /handover && chmod 700 /var/lib/sallyport && chmod 755 /handover && \
    chown 0:10001 /run/witness && chmod 750 /run/witness
COPY docker/config/sallyport.yaml /etc/sallyport/sallyport.yaml
ENV SALLYPORT_HOME=/var/lib/sallyport SALLYPORT_CONFIG=/etc/sallyport/sallyport.yaml HOME=/var/lib/sallyport NODE_ENV=production
WORKDIR /
LABEL sallyport-managed=true
USER 10001:10001
ENTRYPOINT ["sallyport"]
CMD ["up"]
