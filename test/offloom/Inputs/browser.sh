# Opens a page in a headless Chromium without network, and says what it shows: from the document as the browser has built it, and from a
# picture of it.
# Usage: browser.sh PAGE [narrow] [dark]
set -eu
page=$1
shift
# The path of the browser's socket may not be long.
profile=$(TMPDIR='' mktemp -d)
trap 'rm -rf "$profile"' EXIT
browser() {
  TMPDIR=$profile HOME=$profile XDG_CONFIG_HOME=$profile XDG_CACHE_HOME=$profile timeout 300 chromium --headless --no-sandbox --disable-gpu \
    --disable-dev-shm-usage --no-first-run --disable-extensions --user-data-dir="$profile/data" --proxy-server=127.0.0.1:9 \
    --hide-scrollbars "$@" 2>"$profile/errors" || { cat "$profile/errors" >&2; exit 1; }
}
browser --window-size=1280,1200 --dump-dom "file://$page" >"$profile/document"
browser --window-size=1280,1200 --screenshot="$profile/picture.png" "file://$page" >/dev/null
views=()
for view in "$@"; do
  case $view in
  narrow)
    # A window cannot be as narrow as a frame.
    printf '<body style="margin:0"><iframe style="border:0" width="480" height="2000" src="file://%s"></iframe>' "$page" >"$profile/narrow.html"
    browser --window-size=600,2000 --screenshot="$profile/narrow.png" "file://$profile/narrow.html" >/dev/null
    ;;
  dark) browser --window-size=1280,1200 --force-dark-mode --screenshot="$profile/dark.png" "file://$page" >/dev/null ;;
  esac
  views+=("$view" "$profile/$view.png")
done
python3 "$(dirname "$0")/browser.py" "$profile/document" "$profile/picture.png" "${views[@]}"
