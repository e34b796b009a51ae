ARG BASE
FROM ${BASE}
ENV BUN_INSTALL=/usr/local/bun PATH=/usr/local/bun/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
RUN npm install --global bun && bun install --global @oh-my-pi/pi-coding-agent && npm cache clean --force
