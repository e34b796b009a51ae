ARG BASE
FROM ${BASE}
RUN npm install --global @openai/codex && npm cache clean --force
