# Makes a repository with two linked worktrees in the shape that SHAPE says: $P is the project on
# the branch "mine", $O another worktree in the midst of a rebase, $M the main checkout and $G the
# git directory of all three. They stay where they are: OUT, HOME and P are given.
set -e
M=$OUT/main O=$OUT/other
init='-q -b main'
case $SHAPE in
inmain) M=${P%/*} ;;
home) M=$HOME/main ;;
sha256) init="$init --object-format=sha256" ;;
separate) init="$init --separate-git-dir=$OUT/separate" ;;
submodule) git init -q -b main $OUT/origin; git -C $OUT/origin commit -q --allow-empty -m origin
	git init -q -b main $OUT/super; M=$OUT/super/sm
	git -C $OUT/super -c protocol.file.allow=always submodule --quiet add $OUT/origin sm ;;
link) mkdir $OUT/real; ln -s real $M ;;
esac
test $SHAPE = submodule || git init $init $M
cd $M
one() { echo $1 > $1; git add $1; git commit -qm $1; }
one file; one second
git branch release; git branch old HEAD^; git tag -m v1 v1; git branch feature/x
git notes add -m note
one third
git repack -qad
git pack-refs --all
git branch loose; git branch topic/y HEAD^; git tag v2; git update-ref refs/bisect/bad HEAD; git update-ref refs/keep/me HEAD^
git update-ref refs/remotes/origin/main HEAD^
git config core.logAllRefUpdates true
git config user.email m@x; git config user.name m
git config remote.origin.url https://example.invalid/x; git config remote.origin.fetch '+refs/heads/*:refs/remotes/origin/*'
git config branch.main.remote origin; git config branch.main.merge refs/heads/main
test $SHAPE = bare && { git clone -q --mirror . $OUT/bare.git; git -C $OUT/bare.git config --unset remote.origin.mirror; cd $OUT/bare.git; git update-ref refs/stash HEAD; rm -rf $M; git worktree add -q $M main; cd $M; }
G=$(cd "$(git rev-parse --git-common-dir)"; pwd -P)
test $SHAPE = wtconfig && { git config extensions.worktreeConfig true; git config --worktree core.abbrev 9; }
echo staged >> second; git add second; echo stashed >> file; git stash -q; echo two >> file; git stash -q
echo mine > staged; git add staged; echo "not staged" >> file
git rev-parse HEAD^ > $(git rev-parse --git-dir)/ORIG_HEAD; echo "$(git rev-parse HEAD)		branch 'main' of x" > $(git rev-parse --git-dir)/FETCH_HEAD
git worktree add -q -b other $O old
(cd $O; one o1; one o2; GIT_SEQUENCE_EDITOR='sed -i s/pick/edit/' git rebase -qi HEAD~2) 2> /dev/null
case $SHAPE in
detached) git worktree add -q --detach $P ;;
*) git worktree add -q -b mine $P ;;
esac
case $SHAPE in
wtconfig) git -C $P config --worktree core.abbrev 8; git -C $O config --worktree core.abbrev 7 ;;
packed) git pack-refs --all; git repack -qad ;;
locked) git worktree lock $P; git worktree lock --reason why $O ;;
relative) for w in $P $O; do d=$(git -C $w rev-parse --git-dir)
	echo "gitdir: $(realpath --relative-to=$w $d)" > $w/.git; done ;;
esac
cd $P
D=$(git rev-parse --absolute-git-dir) MD=$(git -C $M rev-parse --absolute-git-dir) OD=$(git -C $O rev-parse --absolute-git-dir)
printf 'OUT=%s M=%s O=%s G=%s D=%s P=%s MD=%s OD=%s H=%s\n' $OUT $M $O $G $D $P $MD $OD $(git rev-parse HEAD)
