# What the parts of removed.bash are written with: repo makes a repository with a commit, a
# remote, an odd mode, a link and packed objects; git commits at a time that is always the same.
export GIT_AUTHOR_DATE='1700000000 +0000' GIT_COMMITTER_DATE='1700000000 +0000'
export GIT_TEMPLATE_DIR=$HOME/src/desk/template
unset GIT_DIR GIT_WORK_TREE
repo() { git init -q "$1" && (cd "$1" && echo "$1" > f && ln -s f l && mkdir -m 700 d && echo x > d/x && chmod 755 f && git add . && git commit -qm one && git remote add origin https://example.com/x.git); }
py() { python3 -c "import os, shutil, ctypes; L = ctypes.CDLL(None)
$1"; }
