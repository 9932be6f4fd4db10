"""The main job of a certificate authority, done with hvac.

Arguments: the server's address and a root token. Prints one line and exits 0 when everything held.
"""

import sys

import hvac
from hvac import exceptions

address, root_token = sys.argv[1:]
client = hvac.Client(url=address, token=root_token)
pki = client.secrets.pki


def refused(kind, call, *args, says="", **kwargs):
    try:
        call(*args, **kwargs)
    except kind as refusal:
        assert says in str(refusal), str(refusal)
        return
    raise AssertionError(f"{call.__name__} was not refused")


# The system.
assert client.is_authenticated()
assert client.sys.is_initialized() and not client.sys.is_sealed()
assert client.sys.read_health_status(method="GET")["initialized"] is True
assert client.sys.read_health_status(method="HEAD").status_code == 200
assert client.seal_status["sealed"] is False
assert client.sys.read_leader_status()["ha_enabled"] is False
assert client.ha_status is not None

# A mount.
client.sys.enable_secrets_engine("pki", path="py", config={"max_lease_ttl": "87600h"})
assert "py/" in client.sys.list_mounted_secrets_engines()["data"]
client.sys.tune_mount_configuration("py", default_lease_ttl="24h", description="from Python")
assert client.sys.read_mount_configuration("py")["data"]["default_lease_ttl"] == 86400
refused(exceptions.InvalidRequest, client.sys.enable_secrets_engine, "pki", path="py", says="path is already in use")
at = {"mount_point": "py"}

# Nothing is there yet.
refused(exceptions.InvalidPath, pki.list_roles, **at)
refused(exceptions.InvalidPath, pki.read_role, "web", **at)
refused(exceptions.InvalidPath, pki.list_certificates, **at)

# A root, its URLs and its list.
pki.set_urls({"crl_distribution_points": ["http://ca.test/crl"], "ocsp_servers": ["http://ca.test/ocsp"]}, **at)
assert pki.read_urls(**at)["data"]["crl_distribution_points"] == ["http://ca.test/crl"]
root = pki.generate_root("internal", "Python Root", extra_params={"ttl": "8760h", "issuer_name": "root"}, **at)
assert root["data"]["certificate"].startswith("-----BEGIN CERTIFICATE-----")
assert root["data"]["issuing_ca"] == root["data"]["certificate"]
assert pki.read_ca_certificate(**at) == root["data"]["certificate"]
assert root["data"]["certificate"] in pki.read_ca_certificate_chain(**at)
pki.set_crl_configuration(expiry="48h", disable=False, **at)
assert pki.read_crl_configuration(**at)["data"]["expiry"] == "48h"

# Issuers.
issuers = pki.list_issuers(**at)["data"]
(issuer_id,) = issuers["keys"]
assert issuers["key_info"][issuer_id]["issuer_name"] == "root"
assert pki.read_issuer("root", **at)["data"]["issuer_id"] == issuer_id
updated = pki.update_issuer("root", extra_params={"issuer_name": "first", "leaf_not_after_behavior": "truncate"}, **at)
assert updated["data"]["issuer_name"] == "first"
refused(exceptions.InternalServerError, pki.read_issuer, "root", says="unable to find PKI issuer", **at)

# A role, whose name hvac sends in the body too.
pki.create_or_update_role(
    "web", {"allowed_domains": "example.com", "allow_subdomains": True, "key_type": "ec", "max_ttl": "72h"}, **at
)
assert pki.read_role("web", **at)["data"]["allowed_domains"] == ["example.com"]
assert pki.list_roles(**at)["data"]["keys"] == ["web"]

# Certificates.
issued = pki.generate_certificate("web", "www.example.com", extra_params={"alt_names": "a.example.com"}, **at)["data"]
assert issued["private_key_type"] == "ec"
refused(
    exceptions.InvalidRequest,
    pki.generate_certificate,
    "web",
    "www.example.org",
    says="common name www.example.org not allowed by this role",
    **at,
)
csr = sys.stdin.read()
signed = pki.sign_certificate("web", csr, "signed.example.com", **at)["data"]
assert "private_key" not in signed
serials = pki.list_certificates(**at)["data"]["keys"]
assert {issued["serial_number"], signed["serial_number"], root["data"]["serial_number"]} == set(serials)
read = pki.read_certificate(issued["serial_number"], **at)["data"]
assert read["certificate"] == issued["certificate"] and read["revocation_time"] == 0

# A hierarchy: a request in a mount of its own, signed here, and a root of there that is signed as it is.
client.sys.enable_secrets_engine("pki", path="below")
below = {"mount_point": "below"}
request = pki.generate_intermediate("exported", "Python Intermediate", extra_params={"key_type": "ec"}, **below)["data"]
assert request["private_key_type"] == "ec" and request["csr"].startswith("-----BEGIN CERTIFICATE REQUEST-----")
intermediate = pki.sign_intermediate(request["csr"], "Python Intermediate", extra_params={"ttl": "4000h"}, **at)["data"]
assert intermediate["ca_chain"] == [intermediate["certificate"], root["data"]["certificate"]]
assert intermediate["serial_number"] in pki.list_certificates(**at)["data"]["keys"]
other = pki.generate_root("internal", "Other Root", extra_params={"key_type": "ec"}, **below)["data"]
crossed = pki.sign_self_issued(other["certificate"], **at)["data"]
assert crossed["issuing_ca"] == root["data"]["certificate"] and crossed["certificate"] != other["certificate"]
refused(exceptions.InvalidRequest, pki.sign_self_issued, intermediate["certificate"], says="is not self-issued", **at)
client.sys.disable_secrets_engine("below")

# Revocation.
assert "BEGIN X509 CRL" in pki.read_crl(**at)
before = pki.read_crl(**at)
assert pki.revoke_certificate(issued["serial_number"], **at)["data"]["revocation_time"] > 0
assert pki.read_certificate(issued["serial_number"], **at)["data"]["revocation_time"] > 0
assert pki.read_crl(**at) != before
assert pki.rotate_crl(**at)["data"]["success"] is True

# Policies and tokens.
client.sys.create_or_update_policy("issue", 'path "py/issue/web" { capabilities = ["update"] }')
assert "issue" in client.sys.list_policies()["data"]["policies"]
assert "py/issue/web" in client.sys.read_policy("issue")["data"]["rules"]
made = client.auth.token.create(policies=["issue"], ttl="1h", display_name="python")["auth"]
limited = hvac.Client(url=address, token=made["client_token"])
assert limited.lookup_token()["data"]["policies"] == ["default", "issue"]
assert limited.secrets.pki.generate_certificate("web", "b.example.com", **at)["data"]["certificate"]
refused(exceptions.Forbidden, limited.secrets.pki.list_roles, says="permission denied", **at)
assert limited.sys.get_capabilities(["py/issue/web"])["data"]["capabilities"] == ["update"]
assert client.sys.get_capabilities(["py/roles"], token=made["client_token"])["data"]["capabilities"] == ["deny"]
assert limited.auth.token.renew_self(increment="2h")["auth"]["client_token"] == made["client_token"]
assert client.auth.token.lookup_accessor(made["accessor"])["data"]["display_name"] == "token-python"
client.auth.token.revoke_accessor(made["accessor"])
refused(exceptions.Forbidden, limited.lookup_token)

# An answer in a wrapping, which is opened once.
wrapped = pki.generate_certificate("web", "w.example.com", wrap_ttl="60s", **at)
assert wrapped["data"] is None and wrapped["wrap_info"]["creation_path"] == "py/issue/web"
wrapping_token = wrapped["wrap_info"]["token"]
opened = hvac.Client(url=address).sys.unwrap(wrapping_token)["data"]
assert pki.read_certificate(opened["serial_number"], **at)["data"]["certificate"] == opened["certificate"]
refused(exceptions.InvalidRequest, client.sys.unwrap, wrapping_token, says="wrapping token is not valid or does not exist")
secret = client.sys.wrap({"a": "b"}, ttl=60)
assert client.sys.unwrap(secret["wrap_info"]["token"])["data"] == {"a": "b"}

# Logging in.
client.sys.enable_auth_method("userpass")
client.auth.userpass.create_or_update_user("bob", password="correct horse", policies=["issue"])
bob = hvac.Client(url=address)
assert "issue" in bob.auth.userpass.login("bob", "correct horse")["auth"]["policies"]
assert bob.is_authenticated()
refused(exceptions.InvalidRequest, bob.auth.userpass.login, "bob", "wrong", says="invalid username or password")
client.sys.enable_auth_method("approle")
client.auth.approle.create_or_update_approle("machine", token_policies=["issue"], token_ttl="10m")
role_id = client.auth.approle.read_role_id("machine")["data"]["role_id"]
secret_id = client.auth.approle.generate_secret_id("machine")["data"]["secret_id"]
machine = hvac.Client(url=address)
machine.auth.approle.login(role_id, secret_id)
assert machine.secrets.pki.generate_certificate("web", "m.example.com", **at)["data"]["serial_number"]
machine.logout(revoke_token=True)
assert set(client.sys.list_auth_methods()["data"]) >= {"approle/", "token/", "userpass/"}
client.sys.disable_auth_method("userpass")

# Taking it down.
pki.delete_role("web", **at)
refused(exceptions.InvalidPath, pki.read_role, "web", **at)
assert pki.delete_issuer("first", **at)
refused(exceptions.InternalServerError, pki.read_issuer, issuer_id, says="unable to find PKI issuer", **at)
assert pki.delete_root(**at)
client.sys.move_backend("py", "moved")
assert "moved/" in client.sys.list_mounted_secrets_engines()["data"]
client.sys.disable_secrets_engine("moved")
client.sys.delete_policy("issue")
print("hvac did the main job")
