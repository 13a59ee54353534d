#!/bin/sh
# Locks the tools of real servers, starts the servers anew and compares them again, several times: nothing may be reported.
#
#   run.sh SWITCHBOARD FOLDER
#
# installs what `package.json` and `requirements.txt` name into FOLDER (1.5 GB; needs npm, uv and Python 3.12 or newer).
# It is not part of CI, because of its size and because it needs the registries.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
switchboard=$1
folder=$2

mkdir -p "$folder/npm" "$folder/python"
cd "$folder"
export XDG_STATE_HOME="$folder/state" PUPPETEER_SKIP_DOWNLOAD=1 PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1
if [ ! -e npm/node_modules ]; then
    cp "$here/package.json" npm/
    npm install --prefix npm --no-audit --no-fund
fi
grep -v '^#' "$here/requirements.txt" | while read -r package; do
    name=${package%%==*}
    [ -e "python/$name/bin" ] && continue
    uv venv --quiet --python '>=3.12' "python/$name"
    uv pip install --quiet --python "python/$name/bin/python" "$package"
done
cp "$here/servers.toml" switchboard.toml

echo '# locked'
"$switchboard" --config switchboard.toml lock
for round in 1 2 3; do
    echo "# round $round"
    "$switchboard" --config switchboard.toml lock --check || echo "# something was reported"
done
echo '# round 4: only the older protocol'
sed 's/^command = /protocol = "legacy"\n&/' "$here/servers.toml" > switchboard.toml
"$switchboard" --config switchboard.toml lock --check || echo "# something was reported"
cp "$here/servers.toml" switchboard.toml
