# lienav on Debian 12. The stage `test` takes the steps of CI, beginning with the sources alone:
#
#     docker build --target test .
#     docker build -t lienav . && docker run --rm lienav
#     docker run --rm -v "$PWD":/data lienav evaluate /data/my_bag --out /data/results
#
# The second line is a self-test of some seconds: it prints one table and ends with 0 if the image works.
#
# For a robot with ROS 2, build the package with colcon in an image of its distribution, as the README says.

FROM rust:1.89-bookworm AS test
# What `cargo xtask doctor` asks for, and a browser for the test of the report's page.
RUN apt-get update && apt-get install -y --no-install-recommends \
    g++ git python3 python3-venv chromium && rm -rf /var/lib/apt/lists/*
RUN rustup component add clippy rustfmt
WORKDIR /lienav
COPY . .
ENV CI=true
RUN bash .ci/run

FROM rust:1.89-bookworm AS build
WORKDIR /lienav
COPY . .
RUN cargo build --profile dist --locked --no-default-features --features lab --bin lienav

FROM debian:bookworm-slim
COPY --from=build /lienav/target/dist/lienav /usr/local/bin/lienav
USER 1000
ENTRYPOINT ["lienav"]
CMD ["self-test"]
