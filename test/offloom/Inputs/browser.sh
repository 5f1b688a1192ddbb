# Opens a page in a headless Chromium without network, and says what it shows: from the document as the browser has built it, and from a
# picture of it.
# Usage: browser.sh PAGE
set -eu
page=$1
# The path of the browser's socket may not be long.
profile=$(TMPDIR='' mktemp -d)
trap 'rm -rf "$profile"' EXIT
browser() {
  TMPDIR=$profile HOME=$profile XDG_CONFIG_HOME=$profile XDG_CACHE_HOME=$profile timeout 300 chromium --headless --no-sandbox --disable-gpu \
    --disable-dev-shm-usage --no-first-run --disable-extensions --user-data-dir="$profile/data" --proxy-server=127.0.0.1:9 \
    --window-size=1200,900 --hide-scrollbars "$@" "file://$page" 2>"$profile/errors" || { cat "$profile/errors" >&2; exit 1; }
}
browser --dump-dom >"$profile/document"
browser --screenshot="$profile/picture.png" >/dev/null
python3 "$(dirname "$0")/browser.py" "$profile/document" "$profile/picture.png"
