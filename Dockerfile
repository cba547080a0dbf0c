# docker build -t podkeep . ; for several platforms: docker buildx build --platform linux/amd64,linux/arm64 -t podkeep .
FROM --platform=$BUILDPLATFORM node:24-bookworm-slim AS build
ARG TARGETARCH
WORKDIR /src
COPY package.json package-lock.json bunfig.toml ./
RUN npm install --no-save --no-audit --no-fund
COPY . .
RUN npm run -s build -- --target "bun-linux-$(echo "$TARGETARCH" | sed s/amd64/x64/)" --outfile /out/podkeep && mkdir /out/data

FROM gcr.io/distroless/base-debian12:nonroot
COPY --from=build /out/podkeep /usr/local/bin/podkeep
# A new volume gets its owner from this directory.
COPY --from=build --chown=nonroot:nonroot /out/data /data
ENV PODKEEP_DATA_DIR=/data PODKEEP_HOST=0.0.0.0
VOLUME /data
EXPOSE 8042
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s CMD ["podkeep", "healthcheck"]
ENTRYPOINT ["podkeep"]
CMD ["serve"]
