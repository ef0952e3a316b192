"""Certificates for tests of TLS, and their keys, which are no secret.

An authority and what it has signed: ``localhost`` as a server, and a client. They are valid from
2020 to 2120. Made with ``openssl req`` and ``openssl ca`` (P-256); the key of the authority was
thrown away.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

__all__ = ("Files", "write_files")

_CA = """\
-----BEGIN CERTIFICATE-----
MIIBTDCB86ADAgECAgEBMAoGCCqGSM49BAMCMA0xCzAJBgNVBAMMAmNhMCAXDTIw
MDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAwMDAwWjANMQswCQYDVQQDDAJjYTBZMBMG
ByqGSM49AgEGCCqGSM49AwEHA0IABCvFDcP9zLHfYpu7ykhhzgPAKwQZj4HPQFBI
32+zYIchPg5Vjhj/V9fY7c1ita0D+S8Aoxfq0cy1cmBjSA4wgqGjQjBAMA8GA1Ud
EwEB/wQFMAMBAf8wDgYDVR0PAQH/BAQDAgEGMB0GA1UdDgQWBBRkhQnVX4ROE2Sd
Oiz37LtqtOgYWDAKBggqhkjOPQQDAgNIADBFAiEAp7a46vtNyFT0ienl1NjOUuqe
/eO1hSNg18bFn3eBzOACID+jXF4cgUXV7pdAAJvaQzatPvyat6FMEPHYS+vTbdJV
-----END CERTIFICATE-----
"""

_SERVER = """\
-----BEGIN CERTIFICATE-----
MIIBeDCCAR6gAwIBAgIBAjAKBggqhkjOPQQDAjANMQswCQYDVQQDDAJjYTAgFw0y
MDAxMDEwMDAwMDBaGA8yMTIwMDEwMTAwMDAwMFowETEPMA0GA1UEAwwGc2VydmVy
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAExk4Lc/+24ZGfXeByRgjjxTNdLPfo
UlBLqh42wK/rZ9DjVJ1MK0apxvaahM9Qfol9nrTy60Uim5iu9fukg5oii6NpMGcw
CQYDVR0TBAIwADAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwHQYDVR0OBBYE
FJxSwou/CbRbRXi3qykTXKCDawsIMB8GA1UdIwQYMBaAFGSFCdVfhE4TZJ06LPfs
u2q06BhYMAoGCCqGSM49BAMCA0gAMEUCIBbYn+QDbxiZxSUGsH1+u3OO+4dyFJy1
PzmFYiijP8fFAiEA38zR24PiBZSJT7TOMF2o6LRTk779DseN9MuTd3HNS9o=
-----END CERTIFICATE-----
"""

_SERVER_KEY = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg4RD31/sQ84eSOdl5
BDY5BDuXenGV8EuLaOX/ww5qvsqhRANCAATGTgtz/7bhkZ9d4HJGCOPFM10s9+hS
UEuqHjbAr+tn0ONUnUwrRqnG9pqEz1B+iX2etPLrRSKbmK71+6SDmiKL
-----END PRIVATE KEY-----
"""

_CLIENT = """\
-----BEGIN CERTIFICATE-----
MIIBdzCCAR6gAwIBAgIBAzAKBggqhkjOPQQDAjANMQswCQYDVQQDDAJjYTAgFw0y
MDAxMDEwMDAwMDBaGA8yMTIwMDEwMTAwMDAwMFowETEPMA0GA1UEAwwGY2xpZW50
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE+3XNcQFZAES5z3YxkZ/v6nquNgKY
lhur5to4TEpZwex2z8eDJBWxZX/ZHvn2CWO/Lm7OiQYbiA2K3ScDy0HD0KNpMGcw
CQYDVR0TBAIwADAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwHQYDVR0OBBYE
FOayb1HjWAFm9YN+3ReWb/olkvCaMB8GA1UdIwQYMBaAFGSFCdVfhE4TZJ06LPfs
u2q06BhYMAoGCCqGSM49BAMCA0cAMEQCIHQSxoyFO4c3LHpqgLT47oIaQHLsdaBR
5iDyTEITm/dpAiBkNgbzrSb2SXWNwkxWnNFl6LGtokOEBZqne6JMz02gRg==
-----END CERTIFICATE-----
"""

_CLIENT_KEY = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgYI1/GQyzeIRKCCsL
Xn+j/LnBlPVb0wpw07MelTf0lpihRANCAAT7dc1xAVkARLnPdjGRn+/qeq42ApiW
G6vm2jhMSlnB7HbPx4MkFbFlf9ke+fYJY78ubs6JBhuIDYrdJwPLQcPQ
-----END PRIVATE KEY-----
"""

# The key of the server under the password "secret".
_LOCKED_KEY = """\
-----BEGIN ENCRYPTED PRIVATE KEY-----
MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAin1ajLu23ylQICCAAw
DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEHGHqeytCjLBytExCG2r3qUEgZCl
lK7tcMS1XmqsrN+mnEB7LAS1CK9wat6NSWOrMt2YNM25SeoEA/szQA6TKcs0i/n/
iiXDFdTnrhEU3YFWzrE29TSX2i1aOuRnyHjuZk7iGlZE/TBNMfwRYVK38gi1+HqC
BhlPvGp7SQb8iCiLxUfJWWBrI6wm5EY/dB76hEn1y0ry9FX5pq9y0OfPmuHxu3w=
-----END ENCRYPTED PRIVATE KEY-----
"""


class Files(Struct, frozen=True):
    """Where the files of a folder are."""

    ca: str
    server: str
    server_key: str
    client: str
    client_key: str
    locked_key: str


def write_files(folder: Path) -> Files:
    """Put all of them into a folder."""
    texts = (_CA, _SERVER, _SERVER_KEY, _CLIENT, _CLIENT_KEY, _LOCKED_KEY)
    paths = [folder / f"{name}.pem" for name in Files.__struct_fields__]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    return Files(*map(str, paths))
