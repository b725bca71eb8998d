#!/bin/sh
# Makes what compose.yaml keeps secret, once: what is there already stays. No other user of this machine can enter the folder. Files of the gateway are
# its user's alone; the others are open, because each container has a user of its own that has to read them.
set -eu
umask 077
here="$(cd "$(dirname "$0")" && pwd)"
folder="$here/secrets"
mkdir -p "$folder/relayer"

random() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }
# keep <name> <mode> <text>
keep() { [ -s "$folder/$1" ] || { printf '%s' "$3" >"$folder/$1" && chmod "$2" "$folder/$1"; }; }

keep postgres_password 444 "$(random)"
keep database_url 400 "postgres://gateway:$(cat "$folder/postgres_password")@postgres:5432/gateway"
keep operator_token 400 "$(random)"
keep prometheus_token 444 "$(cat "$folder/operator_token")"
keep grafana_password 444 "$(random)"

# Gateways run as the owner of their files: as the image's user when root made them, else as us. Keys of relayers go to secrets/relayer, with mode 400.
if [ "$(id -u)" = 0 ]; then
  chown 1000:1000 "$folder/database_url" "$folder/operator_token" "$folder/relayer"
elif ! grep -qs '^GATEWAY_USER=' "$here/.env"; then
  echo "GATEWAY_USER=$(id -u):$(id -g)" >>"$here/.env"
fi
echo "The secrets are in $folder."
