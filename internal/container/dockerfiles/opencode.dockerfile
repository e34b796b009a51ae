ARG BASE
FROM ${BASE}
RUN npm install --global opencode-ai && npm cache clean --force
