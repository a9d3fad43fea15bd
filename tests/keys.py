"""Keys and certificates that are made for one test session: an App's key, and a certificate authority of our own."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

_PEM = serialization.Encoding.PEM
_PLAIN = serialization.NoEncryption()


@dataclass(frozen=True)
class KeyPair:
    """A private key and its public half, as PEM text."""

    private: str
    public: str


@cache
def rsa_pair(name: str = "the App's") -> KeyPair:
    """A pair for each name; making one takes a tenth of a second."""
    del name
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    private = key.private_bytes(_PEM, serialization.PrivateFormat.TraditionalOpenSSL, _PLAIN)
    public = key.public_key().public_bytes(_PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return KeyPair(private.decode(), public.decode())


@dataclass(frozen=True)
class Authority:
    """A private certificate authority: `ca` is its certificate, `chain` a server's certificate with its key."""

    ca: Path
    chain: Path


def authority(folder: Path, *names: str) -> Authority:
    """An authority in `folder`, and a server certificate of its for 127.0.0.1 and the `names`."""
    root, server = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    company = _named("A company's own authority")
    ca = (
        _builder(company, company, root.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(root.public_key()), critical=False)
        .sign(root, hashes.SHA256())
    )
    alternatives = [x509.IPAddress(ipaddress.ip_address("127.0.0.1")), *map(x509.DNSName, names)]
    certificate = (
        _builder(_named("a server"), company, server.public_key())
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs=False), critical=True)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(root.public_key()), critical=False)
        .sign(root, hashes.SHA256())
    )
    made = Authority(folder / "ca.pem", folder / "server.pem")
    made.ca.write_bytes(ca.public_bytes(_PEM))
    key = server.private_bytes(_PEM, serialization.PrivateFormat.PKCS8, _PLAIN)
    made.chain.write_bytes(key + certificate.public_bytes(_PEM))
    return made


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return x509.CertificateBuilder(
        subject_name=subject,
        issuer_name=issuer,
        public_key=key,
        serial_number=x509.random_serial_number(),
        not_valid_before=now - timedelta(days=1),
        not_valid_after=now + timedelta(days=1),
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )
