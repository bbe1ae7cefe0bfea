# VenMAS, installed as the README says, in an image without anything else.
#     docker build -t venmas .
#     docker run --rm venmas --scenario vcas --formula "AX^5 (h > 100 | h < -100)" --mode comp-par
#     docker run --rm --user "$(id -u)" -v "$PWD:/work" venmas --scenario loop.py --formula "AG^10 safe" --json result.json
FROM python:3.12-slim

COPY . /src
RUN python3 -m venv /opt/venmas \
    && cd /src \
    && /opt/venmas/bin/pip install --no-cache-dir . \
    && rm -rf /src
# The first question of the README is decided before the image is done.
RUN cd /tmp && /opt/venmas/bin/venmas --scenario vcas --formula "AX^5 (h > 100 | h < -100)" --mode comp-par

RUN useradd --create-home venmas
USER venmas
WORKDIR /work
ENV PATH=/opt/venmas/bin:$PATH NUMBA_CACHE_DIR=/tmp/numba
ENTRYPOINT ["venmas"]
CMD ["--help"]
