"""What the typed decoder takes, the tolerant reader takes for the same."""

import msgspec
import pytest

from dragoman.dialects.v0_1.decode import decode_send
from dragoman.dialects.v0_1.wire import SendParams

MESSAGE = '{"role":"user","parts":[{"type":"text","text":"hi"}]}'
WELL_FORMED = [
    '{"message":' + MESSAGE + "}",
    '{"id":"t","sessionId":"s","message":' + MESSAGE + ',"historyLength":3,"metadata":{"k":1}}',
    # All that the Python reference client writes, unset members as null.
    '{"id":"t","sessionId":"s","message":{"role":"user","parts":[{"type":"text","text":"hi",'
    '"metadata":null}],"metadata":null},"acceptedOutputModes":["text"],"pushNotification":null,'
    '"historyLength":null,"metadata":null}',
    '{"id":"t","message":{"role":"agent","parts":[{"type":"file","file":{"name":"f","mimeType":'
    '"x/y","bytes":"AAEC/w==","uri":null}},{"type":"data","data":{"a":[1]},"metadata":{"b":2}},'
    '{"type":"data","data":[1,2]},{"type":"file","file":{"uri":"https://f.example"}}],'
    '"metadata":{}},"pushNotification":{"url":"https://h.example","token":"k",'
    '"authentication":{"schemes":["Bearer"],"credentials":"c"}}}',
    '{"message":{"messageId":"m","role":"user","parts":[{"type":"text","text":"hi",'
    '"metadata":{"a2a.v1":true,"mimeType":"text/x"}}]}}',
]


@pytest.mark.parametrize("params", WELL_FORMED)
def test_both_ways_of_reading_agree(params: str) -> None:
    msgspec.json.decode(params, type=SendParams)
    # A role in capitals is refused by the type alone.
    lenient = params.replace('"user"', '"USER"').replace('"agent"', '"AGENT"')
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(lenient, type=SendParams)
    assert decode_send(lenient.encode()) == decode_send(params.encode())
