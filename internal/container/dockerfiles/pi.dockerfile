ARG BASE
FROM ${BASE}
RUN npm install --global @mariozechner/pi-coding-agent && npm cache clean --force
