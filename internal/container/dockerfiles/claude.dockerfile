ARG BASE
FROM ${BASE}
RUN npm install --global @anthropic-ai/claude-code && npm cache clean --force
