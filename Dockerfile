# docker build -t podkeep . ; for several platforms: docker buildx build --platform linux/amd64,linux/arm64 -t podkeep .
FROM --platform=$BUILDPLATFORM node:24-bookworm-slim AS build
ARG TARGETARCH
WORKDIR /src
COPY package.json package-lock.json bunfig.toml ./
RUN npm ci --omit=dev --no-audit --no-fund
COPY . .
# Podman leaves TARGETARCH empty.
RUN arch=${TARGETARCH:-$(dpkg --print-architecture)} && \
  npm run -s build -- --target "bun-linux-$(echo "$arch" | sed s/amd64/x64/)" --outfile /out/usr/local/bin/podkeep && \
  install -d -m 700 -o 65532 -g 65532 /out/data

FROM gcr.io/distroless/base-debian12:nonroot
# In one COPY, which keeps the owner and mode of /data. A new volume gets them too.
COPY --from=build /out /
# Docker kills a container 10 s after it asks it to stop.
ENV PODKEEP_DATA_DIR=/data PODKEEP_HOST=0.0.0.0 PODKEEP_DRAIN_TIMEOUT=7s
VOLUME /data
EXPOSE 8042
# The first start of a new version may migrate for minutes.
HEALTHCHECK --interval=30s --timeout=5s --start-period=15m CMD ["podkeep", "healthcheck"]
ENTRYPOINT ["podkeep"]
CMD ["serve"]
