# folder-names.sh DIST FOLDER LINK-OPTIONS: `offloom doctor` of an installation whose path is not UTF-8, with an option and a setting that are
# not either.
set -e
folder="$2/"$'\xff'
mkdir -p "$folder"
cp -r "$1"/bin "$1"/lib "$1"/libexec "$1"/share "$folder"
export OFFLOOM_JIT_STATS=$'s\xff'
# The options are several words.
exec "$folder/bin/offloom" doctor -- $3 -L"$folder"
