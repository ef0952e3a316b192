"""Who is calling: authenticators for servers, credentials for clients, signed cards."""

from typing import TYPE_CHECKING

from dragoman._lazy import exported

if TYPE_CHECKING:
    from dragoman.auth.cards.keys import TrustedKeys
    from dragoman.auth.cards.signing import CardSigner, Verification, verify_card
    from dragoman.auth.incoming.api_key import ApiKeys
    from dragoman.auth.incoming.authenticator import Authenticator, BadCredentialsError, Evidence
    from dragoman.auth.incoming.basic import BasicUsers
    from dragoman.auth.incoming.bearer_jwt import BearerJwt
    from dragoman.auth.incoming.client_certificates import ClientCertificates
    from dragoman.auth.incoming.combining import AllOf
    from dragoman.auth.incoming.custom import CustomAuthenticator
    from dragoman.auth.incoming.forwarded_certificates import TrustedProxy
    from dragoman.auth.incoming.introspection import Introspection
    from dragoman.auth.incoming.openid import OpenId
    from dragoman.auth.outgoing.certificates import ClientCertificate
    from dragoman.auth.outgoing.credentials import ApiKey, Basic, Bearer, Credentials, Custom
    from dragoman.auth.outgoing.errors import MissingCredentialsError
    from dragoman.auth.outgoing.grants import ClientCredentials, DeviceCode
    from dragoman.auth.outgoing.oauth2 import DevicePrompt
    from dragoman.auth.outgoing.tokens import TokenKeeper

__all__ = (
    "AllOf",
    "ApiKey",
    "ApiKeys",
    "Authenticator",
    "BadCredentialsError",
    "Basic",
    "BasicUsers",
    "Bearer",
    "BearerJwt",
    "CardSigner",
    "ClientCertificate",
    "ClientCertificates",
    "ClientCredentials",
    "Credentials",
    "Custom",
    "CustomAuthenticator",
    "DeviceCode",
    "DevicePrompt",
    "Evidence",
    "Introspection",
    "MissingCredentialsError",
    "OpenId",
    "TokenKeeper",
    "TrustedKeys",
    "TrustedProxy",
    "Verification",
    "verify_card",
)

if not TYPE_CHECKING:
    __getattr__, __dir__ = exported(
        __name__,
        {
            "dragoman.auth.outgoing.tokens": ("TokenKeeper",),
            "dragoman.auth.cards.keys": ("TrustedKeys",),
            "dragoman.auth.cards.signing": ("CardSigner", "Verification", "verify_card"),
            "dragoman.auth.incoming.api_key": ("ApiKeys",),
            "dragoman.auth.incoming.authenticator": (
                "Authenticator",
                "BadCredentialsError",
                "Evidence",
            ),
            "dragoman.auth.incoming.basic": ("BasicUsers",),
            "dragoman.auth.incoming.bearer_jwt": ("BearerJwt",),
            "dragoman.auth.incoming.client_certificates": ("ClientCertificates",),
            "dragoman.auth.incoming.combining": ("AllOf",),
            "dragoman.auth.incoming.custom": ("CustomAuthenticator",),
            "dragoman.auth.incoming.forwarded_certificates": ("TrustedProxy",),
            "dragoman.auth.incoming.introspection": ("Introspection",),
            "dragoman.auth.incoming.openid": ("OpenId",),
            "dragoman.auth.outgoing.certificates": ("ClientCertificate",),
            "dragoman.auth.outgoing.credentials": (
                "ApiKey",
                "Basic",
                "Bearer",
                "Credentials",
                "Custom",
            ),
            "dragoman.auth.outgoing.errors": ("MissingCredentialsError",),
            "dragoman.auth.outgoing.grants": ("ClientCredentials", "DeviceCode"),
            "dragoman.auth.outgoing.oauth2": ("DevicePrompt",),
        },
    )
