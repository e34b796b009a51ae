ARG BASE
FROM ${BASE}
RUN npm install --global @google/gemini-cli && npm cache clean --force
