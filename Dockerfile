# The worker: `docker build -t millrace .`; settings as CONNECT_* variables, such as CONNECT_BOOTSTRAP_SERVERS.
FROM node:20-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN npm ci --no-audit --no-fund
COPY tsconfig.json ./
COPY schemas schemas
COPY runtime runtime
COPY connectors connectors
RUN npm run build && npm prune --omit=dev

FROM node:20-bookworm-slim
ENV NODE_ENV=production
WORKDIR /opt/millrace
COPY --from=build /build/node_modules node_modules
COPY --from=build /build/dist dist
COPY package.json LICENSE ./
RUN mkdir /data && chown node:node /data
USER node
VOLUME /data
EXPOSE 8083
ENTRYPOINT ["node", "dist/runtime/cli/main.js"]
CMD ["standalone", "--data-dir", "/data", "--listen", "0.0.0.0:8083"]
