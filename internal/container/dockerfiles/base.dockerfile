# What Carrel's images for agents have in common.
FROM docker.io/library/node:22-bookworm-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends \
    bash ca-certificates curl git jq less ncurses-term openssh-client patch procps python3 ripgrep unzip xz-utils \
 && rm -rf /var/lib/apt/lists/*
