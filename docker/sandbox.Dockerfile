# An example of a sandbox: any image with a shell, curl and git will do as its base. What matters is what is added: a user
# without rights and an entrypoint that waits until the door is open. Everything else is said in docker-compose.yml.
ARG BASE_IMAGE=node:22-bookworm
FROM ${BASE_IMAGE}
COPY docker/sandbox-entrypoint /usr/local/bin/sandbox-entrypoint
# What is mounted on /tmp takes its mode from what lies there, from the second start on.
RUN echo 'sandbox:x:10002:10002:Sandbox:/home/sandbox:/bin/sh' >>/etc/passwd && \
    echo 'sandbox:x:10002:' >>/etc/group && \
    chmod 755 /usr/local/bin/sandbox-entrypoint && \
    mkdir -p /home/sandbox /workspace /etc/sallyport /tmp && chmod 1777 /tmp && \
    chown 10002:10002 /home/sandbox /workspace
ENV HOME=/home/sandbox
WORKDIR /workspace
LABEL sallyport-managed=true
USER 10002:10002
ENTRYPOINT ["sandbox-entrypoint"]
CMD ["sleep", "infinity"]
