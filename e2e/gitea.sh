#!/usr/bin/env bash
# Posts to a real Gitea, a server that is not ours: a comment is created, updated
# and left alone by an older run, eight runs at the same time leave one comment,
# and the commit has its status. Not a part of .ci/run: building Gitea takes
# minutes of two cores, about 2 GB of modules and a C compiler.
#
#   e2e/gitea.sh [FOLDER]     FOLDER keeps Gitea's program for the next time
#
# Needs Go, git, curl and jq. Run as root it starts Gitea as nobody, which Gitea
# wants. Passed on 2026-11-30 with Gitea 1.26.0 on two cores, in 70 s beside the
# build: one comment and the newest run's text in each of the five rounds.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
version=v1.26.0
keep=${1:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/peakgate/gitea-$version}
port=${GITEA_PORT:-3987}
api=http://127.0.0.1:$port/api/v1
work=$(mktemp -d)
server=

finish() {
  if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; fi
  rm -rf "$work"
}
trap finish EXIT
fail() { printf 'e2e/gitea.sh: %s\n' "$*" >&2; exit 1; }
same() { [ "$2" = "$3" ] || fail "$1: expected $2, found $3"; echo "ok: $1"; }

# Gitea cannot be installed by go install, as its go.mod has replace lines: those
# go into a module of our own.
if [ ! -x "$keep/gitea" ]; then
  mkdir -p "$keep/module"
  (
    cd "$keep/module"
    source=$(go mod download -json "code.gitea.io/gitea@$version" | jq -r .Dir)
    {
      printf 'module gitea.build\n\ngo 1.26\n\n'
      # In both forms of go.mod, without replacements by folders.
      sed -n '/^replace (/,/^)/{/^replace (/d;/^)/d;s/^[[:space:]]*/replace /;p;}; /^replace [^(]/p' "$source/go.mod" | grep '=>' | grep -v '=> \.' || true
    } >go.mod
    go get -tool "code.gitea.io/gitea@$version"
    nice go build -tags 'sqlite sqlite_unlock_notify' -o ../gitea code.gitea.io/gitea
    mkdir -p ../static
    cp -R "$source/templates" "$source/options" "$source/public" ../static/
    chmod -R u+w,a+rX ../static
  )
  rm -rf "$keep/module"
fi

step() { printf '== %s\n' "$*"; }

step start
go build -trimpath -o "$work/peakgate" .
mkdir -p "$work/data"
cat >"$work/app.ini" <<INI
APP_NAME = test
RUN_MODE = prod
WORK_PATH = $work/data
[server]
HTTP_ADDR = 127.0.0.1
HTTP_PORT = $port
ROOT_URL = http://127.0.0.1:$port/
STATIC_ROOT_PATH = $keep/static
DISABLE_SSH = true
OFFLINE_MODE = true
[database]
DB_TYPE = sqlite3
PATH = $work/data/gitea.db
[repository]
ROOT = $work/data/repositories
[security]
INSTALL_LOCK = true
[log]
MODE = file
ROOT_PATH = $work/data/log
[service]
DISABLE_REGISTRATION = true
INI
as=()
if [ "$(id -u)" = 0 ]; then
  chmod 755 "$work"
  chown -R nobody "$work"
  as=(setpriv --reuid nobody --clear-groups env "HOME=$work/data" "USER=nobody")
fi
gitea() { "${as[@]}" "$keep/gitea" "$@" --config "$work/app.ini"; }
gitea migrate >"$work/migrate.log" 2>&1 || { tail "$work/migrate.log"; fail "gitea migrate"; }
gitea admin user create --admin --username gate --password "$(head -c 18 /dev/urandom | base64)aA1" --email gate@example.org --must-change-password=false >/dev/null
token=$(gitea admin user generate-access-token --username gate --scopes all --raw | tail -1)
"${as[@]}" "$keep/gitea" web --config "$work/app.ini" >"$work/web.log" 2>&1 &
server=$!
curl -s -o /dev/null --retry 60 --retry-delay 1 --retry-connrefused "$api/version" || { tail "$work/web.log"; fail "gitea does not answer"; }
call() { curl -sS --fail-with-body -H "Authorization: token $token" -H 'Content-Type: application/json' "$@"; }

step "a pull request on Gitea $(call "$api/version" | jq -r .version)"
call "$api/user/repos" -d '{"name":"r","auto_init":true,"default_branch":"main"}' >/dev/null
call "$api/repos/gate/r/contents/new.txt" -d '{"content":"bmV3Cg==","branch":"main","new_branch":"change","message":"a change"}' >/dev/null
pull=$(call "$api/repos/gate/r/pulls" -d '{"title":"a change","head":"change","base":"main"}')
number=$(jq .number <<<"$pull")
head=$(jq -r .head.sha <<<"$pull")
jq -n --arg head "$head" --argjson n "$number" \
  '{repository:{full_name:"gate/r"},number:$n,pull_request:{number:$n,head:{sha:$head,repo:{full_name:"gate/r"}}}}' >"$work/event.json"

# result VERDICT WORD writes a result that the word can be found in.
result() {
  jq -n --arg verdict "$1" --arg word "$2" '{schema:"peakgate.result/1",verdict:$verdict,config:"peakgate.yml",head:{commit:"",ref:""},
    targets:[{name:$word,verdict:$verdict,checks:[{metric:"plan.need_bytes",unit:"B",verdict:$verdict,head:500,reason:"of \($word)",limit:{max:400,text:"max 400 B",file:"new.txt",line:1}}]}]}'
}
# post RUN FILE posts as that run.
post() {
  env GITHUB_ACTIONS=true GITHUB_API_URL="$api" GITHUB_SERVER_URL="http://127.0.0.1:$port" GITHUB_REPOSITORY=gate/r GITHUB_RUN_ID="$1" GITHUB_RUN_ATTEMPT=1 \
    GITHUB_EVENT_NAME=pull_request GITHUB_EVENT_PATH="$work/event.json" GITHUB_TOKEN="$token" "$work/peakgate" comment "$2" 2>&1
}
comments() { call "$api/repos/gate/r/issues/$number/comments"; }
told() { grep -o 'comment: [a-z]*' | tail -1; }

step comment
call "$api/repos/gate/r/issues/$number/comments" -d '{"body":"looks good"}' >/dev/null
result fail first >"$work/1.json"
result pass second >"$work/2.json"
same "a comment is created" "comment: created" "$(post 1 "$work/1.json" | told)"
same "the same run again" "comment: unchanged" "$(post 1 "$work/1.json" | told)"
same "the status is red" failure "$(call "$api/repos/gate/r/commits/$head/status" | jq -r .state)"
same "a newer run updates it" "comment: updated" "$(post 3 "$work/2.json" | told)"
same "an older run does not" "no comment: a newer run has written it" "$(post 2 "$work/1.json" | grep -o 'no comment: a newer run has written it')"
same "comments beside the other's" 1 "$(comments | jq '[.[] | select(.body | startswith("<!-- peakgate"))] | length')"
same "its text is the newest run's" 1 "$(comments | jq '[.[] | select(.body | contains("second"))] | length')"
link=$(comments | jq -r '.[1].body' | grep -o 'http://[^)]*new.txt#L1' | head -1)
same "the link to a line leads to the file" 200 "$(curl -sS -o "$work/page" -w '%{http_code}' -H "Authorization: token $token" "${link%#*}")"
same "and to that line" 1 "$(grep -c 'id="L1"' "$work/page")"
same "the other's comment is left" "looks good" "$(comments | jq -r '.[0].body')"

step "eight runs at the same time, five times"
for round in 1 2 3 4 5; do
  comments | jq '.[] | select(.body | startswith("<!-- peakgate")) | .id' | while read -r id; do
    call -X DELETE "$api/repos/gate/r/issues/comments/$id"
  done
  pids=()
  for leg in 1 2 3 4 5 6 7 8; do
    result fail "leg-$leg" >"$work/leg$leg.json"
    post "$((10 * round + leg))" "$work/leg$leg.json" >"$work/leg$leg.log" &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || { cat "$work"/leg*.log; fail "a run failed"; }; done
  same "round $round leaves one comment" 1 "$(comments | jq '[.[] | select(.body | startswith("<!-- peakgate"))] | length')"
  same "round $round: it is the newest run's" 1 "$(comments | jq '[.[] | select(.body | contains("leg-8"))] | length')"
done
if grep -q "$token" "$work"/leg*.log; then
  # The one place for it is the command that masks it.
  if grep "$token" "$work"/leg*.log | grep -qv '::add-mask::'; then fail "the token is in the log"; fi
fi
echo "passed: Gitea $version, $(cd "$root" && git rev-parse --short HEAD)"
