# Keeps what one use of the action left: act deletes its folders.
set -eu
printf '%s' "$OUTCOME" >"$SEEN/$NAME.outcome"
printf '%s' "$OUTPUTS" >"$SEEN/$NAME.outputs"
if [ -n "${REPORT-}" ]; then cp "$REPORT" "$SEEN/$NAME.md"; fi
if [ -n "${JSON-}" ]; then cp "$JSON" "$SEEN/$NAME.json"; fi
