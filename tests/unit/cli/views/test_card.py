import pytest

from dragoman.cli.views.card import card_lines
from dragoman.dialects.v1_0.card import decode_card
from dragoman.model.cards import AgentCard

CARD = b"""{
  "name": "Full", "description": "Has everything.\\nOn two lines.", "version": "3",
  "provider": {"organization": "Us", "url": "https://us.example"},
  "documentationUrl": "https://us.example/docs",
  "supportedInterfaces": [
    {"url": "https://a.example", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0",
     "tenant": "acme"}
  ],
  "capabilities": {
    "streaming": true, "pushNotifications": false,
    "extensions": [{"uri": "https://e/1", "required": true}, {"uri": "https://e/2"}]
  },
  "securitySchemes": {
    "key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}},
    "http": {"httpAuthSecurityScheme": {"scheme": "Bearer"}},
    "oauth": {"oauth2SecurityScheme": {"flows": {"password": {}}}},
    "oidc": {"openIdConnectSecurityScheme": {"openIdConnectUrl": "https://id.example"}},
    "mtls": {"mtlsSecurityScheme": {}}
  },
  "securityRequirements": [
    {"schemes": {"key": {}, "oauth": {"list": ["read", "write"]}}}, {}
  ],
  "defaultInputModes": ["text/plain", "image/png"], "defaultOutputModes": [],
  "skills": [
    {"id": "s", "name": "Skill", "description": "Does.", "tags": ["a", "b"], "examples": ["Go."]}
  ]
}"""


@pytest.fixture(scope="module")
def card() -> AgentCard:
    return decode_card(CARD)


def test_a_card_is_shown(card: AgentCard) -> None:
    assert card_lines(card, selected="JSONRPC 1.0 x", is_verbose=False).text() == (
        "Name: Full\n"
        "Version: 3\n"
        "Provider: Us https://us.example\n"
        "Documentation: https://us.example/docs\n"
        "Description:\n"
        "  Has everything.\n"
        "  On two lines.\n"
        "\n"
        "Streaming: yes\n"
        "Push notifications: no\n"
        "Extended card: no\n"
        "Extension: https://e/1 (required)\n"
        "Extension: https://e/2\n"
        "Interface: HTTP+JSON 1.0 https://a.example [acme]\n"
        "Selected interface: JSONRPC 1.0 x\n"
        "Security scheme: key apiKey in header X-Key\n"
        "Security scheme: http http Bearer\n"
        "Security scheme: oauth oauth2\n"
        "Security scheme: oidc openIdConnect https://id.example\n"
        "Security scheme: mtls mutualTLS\n"
        "Security requirement: key and oauth (read, write)\n"
        "Security requirement: nothing\n"
        "Input modes: text/plain, image/png\n"
        "Output modes: none\n"
        "Skill: s Skill\n"
        "Skill description:\n"
        "  Does.\n"
        "\n"
    )


def test_nothing_may_be_selected(card: AgentCard) -> None:
    assert "Selected interface: none\n" in card_lines(card, selected=None, is_verbose=False).text()


def test_more_is_told_of_skills_if_asked(card: AgentCard) -> None:
    text = card_lines(card, selected=None, is_verbose=True).text()
    assert "Skill tags: a, b\nSkill example: Go.\n" in text
