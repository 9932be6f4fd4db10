"""A new server is initialised and unsealed with hvac. Argument: its address."""

import sys

import hvac

client = hvac.Client(url=sys.argv[1])
assert not client.sys.is_initialized()
assert client.sys.is_sealed()
assert client.sys.read_health_status(method="GET").status_code == 501
made = client.sys.initialize(secret_shares=3, secret_threshold=2)
assert len(made["keys"]) == 3 and client.sys.is_initialized() and client.sys.is_sealed()
first, second, third = made["keys"]
assert client.sys.submit_unseal_key(first)["progress"] == 1
# What others gave stays, since a sealed server knows nobody.
assert client.sys.submit_unseal_key(reset=True)["progress"] == 1
assert client.sys.submit_unseal_keys([first, third])["sealed"] is False
client.token = made["root_token"]
assert client.is_authenticated()
client.sys.seal()
assert client.sys.is_sealed()
assert client.sys.read_health_status(method="GET").status_code == 503
client.sys.submit_unseal_keys(made["keys_base64"][1:])
assert not client.sys.is_sealed()
assert client.lookup_token()["data"]["policies"] == ["root"]
print("hvac unsealed the server")
