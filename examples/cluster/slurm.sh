#!/bin/sh
# One task of a Slurm array makes one part of a sweep.
#
#   folder=/shared/out; mkdir -p $folder
#   job=$(sbatch --parsable --array=1-100 slurm.sh grid.toml $folder)
#   sbatch --dependency=afterok:$job --wrap "paceline merge $folder -o $folder.parquet"
#
# FOLDER is on a disk that the nodes share. A task that is preempted, killed or requeued continues
# with the runs that its part lacks.
#SBATCH --job-name=paceline
#SBATCH --array=1-4
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --requeue
#SBATCH --open-mode=append
set -eu
exec paceline sweep -q "$1" --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT" \
  --threads "${SLURM_CPUS_PER_TASK:-1}" -o "$2"
