/* SPANK plugin of Slurm: the option --ipus=N of srun, sbatch and salloc, and the IPUs of a task in its environment.
 *
 * Slurm decides which IPUs of a node a job has (gres/ipu, one file per IPU in gres.conf); cli_filter.lua turns --ipus
 * into that request. On the node, this plugin reads the job's numbers from the controller, gives each step as many as it
 * requested, and says so to its tasks:
 *
 *   POPVISION_IPUS               how many
 *   POPVISION_IPU_IDS            which, as in 4,5,6,7
 *   IPUOF_VIPU_API_PARTITION_ID  slurm_<job>, the name of a partition on systems that make one per job
 *
 * The controller counts the IPUs of a step and does not number them, so steps that run side by side choose by lock
 * files, which the system drops when slurmstepd ends, however it ends.
 *
 * Arguments in plugstack.conf: ipus=<IPUs of a node>, locks=<folder of the lock files, which root may write>.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <slurm/slurm.h>
#include <slurm/spank.h>

SPANK_PLUGIN(ipus, 1)

enum { MOST_IPUS = 4096, LIST_BYTES = 8 * MOST_IPUS, PATH_BYTES = 4096 };
enum { WAIT_MS = 2000, POLL_MS = 20 }; /* for a step that has ended in the controller's books, but still holds locks */

static int ipus_of_node = 0;
static char lock_folder[PATH_BYTES] = "/run/popvision-ipus";

static int ids[MOST_IPUS]; /* the IPUs of this step on this node, ascending */
static int num_ids = 0;

/* The whole number that `text` is, or -1. */
static int number(const char *text)
{
    char *end = NULL;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || errno || value > MOST_IPUS) return -1;
    return (int)value;
}

static int check_option(int val, const char *argument, int remote)
{
    (void)val;
    if (remote) return ESPANK_SUCCESS; /* was checked where it was given; the step's request says how many */
    int ipus = argument ? number(argument) : -1;
    if (ipus >= 1 && ipus <= ipus_of_node && (ipus & (ipus - 1)) == 0) return ESPANK_SUCCESS;
    slurm_error("--ipus=%s is not a power of two from 1 to %d, the IPUs of this pod.", argument ? argument : "",
                ipus_of_node);
    return ESPANK_BAD_ARG;
}

static struct spank_option ipus_option = {
    "ipus", "N", "number of IPUs on each node: a power of two up to the IPUs of the pod", 1, 0, check_option};

static int read_arguments(int count, char **arguments)
{
    for (int i = 0; i < count; i++) {
        if (strncmp(arguments[i], "ipus=", 5) == 0)
            ipus_of_node = number(arguments[i] + 5);
        else if (strncmp(arguments[i], "locks=", 6) == 0 && strlen(arguments[i] + 6) < sizeof lock_folder)
            strcpy(lock_folder, arguments[i] + 6);
        else {
            slurm_error("ipus: '%s' in plugstack.conf is not an argument; those are ipus= and locks=.", arguments[i]);
            return ESPANK_BAD_ARG;
        }
    }
    if (ipus_of_node >= 1) return ESPANK_SUCCESS;
    slurm_error("ipus: plugstack.conf must say how many IPUs a node has, as in ipus=64.");
    return ESPANK_BAD_ARG;
}

/* Reads the numbers of "ipu:4(IDX:0-2,5)" or "ipu:bow:4(IDX:...)" out of a node's generic resources into `found`;
 * returns how many. */
static int numbers_of_gres(const char *text, int *found)
{
    int count = 0;
    for (const char *entry = text; entry && *entry;) {
        const char *open = strchr(entry, '('), *close = open ? strchr(open, ')') : NULL;
        if (!close) break;
        if (strncmp(entry, "ipu:", 4) == 0 && strncmp(open, "(IDX:", 5) == 0) {
            for (const char *at = open + 5; at < close;) {
                char *end = NULL;
                long first = strtol(at, &end, 10), last = first;
                if (end == at) break;
                if (*end == '-') last = strtol(end + 1, &end, 10);
                for (long id = first; id <= last && count < MOST_IPUS; id++) found[count++] = (int)id;
                at = *end == ',' ? end + 1 : close;
            }
        }
        entry = close[1] == ',' ? close + 2 : NULL;
    }
    return count;
}

/* The name of the node at a position of a list such as "node[01-04]"; "" where the list is shorter. A node's name in
 * Slurm need not be that of its host. */
static void name_at(const char *nodes, uint32_t position, char *name, size_t size)
{
    name[0] = '\0';
    hostlist_t list = nodes ? slurm_hostlist_create(nodes) : NULL;
    if (!list) return;
    for (uint32_t i = 0; i <= position; i++) {
        char *each = slurm_hostlist_shift(list);
        if (i == position && each) snprintf(name, size, "%s", each);
        free(each);
    }
    slurm_hostlist_destroy(list);
}

/* The position of a node among the nodes of the job, or -1. */
static int position_of(const char *node, const char *nodes)
{
    hostlist_t list = nodes ? slurm_hostlist_create(nodes) : NULL;
    if (!list) return -1;
    int position = slurm_hostlist_find(list, node);
    slurm_hostlist_destroy(list);
    return position;
}

/* The IPUs of the job on a node of that name, "" = the node at `place` among its nodes; -1 where the controller does not
 * say. */
static int ipus_of_job(uint32_t job_id, const char *node, uint32_t place, int *found)
{
    job_info_msg_t *answer = NULL;
    if (slurm_load_job(&answer, job_id, SHOW_ALL | SHOW_DETAIL) != SLURM_SUCCESS) return -1;
    int count = -1;
    for (uint32_t i = 0; i < answer->record_count; i++) {
        slurm_job_info_t *job = &answer->job_array[i];
        if (job->job_id != job_id) continue;
        int position = *node ? position_of(node, job->nodes) : (int)place;
        count = 0;
        if (job->gres_detail_cnt && position < 0) count = -1;
        if (position >= 0 && (uint32_t)position < job->gres_detail_cnt && job->gres_detail_str[position])
            count = numbers_of_gres(job->gres_detail_str[position], found);
    }
    slurm_free_job_info_msg(answer);
    return count;
}

/* How many IPUs the request of a step names for each node. */
static int ipus_of_request(const char *gres)
{
    int wanted = 0;
    for (const char *entry = gres; entry && *entry; entry = strchr(entry, ',') ? strchr(entry, ',') + 1 : NULL) {
        size_t length = strcspn(entry, ",");
        const char *last = NULL;
        if (strncmp(entry, "gres:ipu", 8) != 0 || (length > 8 && entry[8] != ':')) continue;
        for (size_t i = 8; i < length; i++)
            if (entry[i] == ':') last = entry + i + 1;
        wanted += last && *last >= '0' && *last <= '9' ? atoi(last) : 1; /* "ipu" and "ipu:bow" request one */
    }
    return wanted;
}

/* How many IPUs a step started by srun has on each node, as its request says (srun repeats the job's where it is given
 * none, and leaves it out for --gres=none), and the name of its node at `place`. Returns -1 where the controller does not
 * say. */
static int ipus_of_step(uint32_t job_id, uint32_t step_id, uint32_t place, char *node, size_t size)
{
    job_step_info_response_msg_t *answer = NULL;
    if (slurm_get_job_steps(0, job_id, step_id, &answer, SHOW_ALL) != SLURM_SUCCESS) return -1;
    int wanted = -1;
    if (answer->job_step_count == 1) {
        wanted = ipus_of_request(answer->job_steps[0].tres_per_node);
        name_at(answer->job_steps[0].nodes, place, node, size);
    }
    slurm_free_job_step_info_response_msg(answer);
    return wanted;
}

/* Locks one IPU for the life of this process. */
static int lock_one(int id)
{
    char path[PATH_BYTES + 32];
    snprintf(path, sizeof path, "%s/ipu%d", lock_folder, id);
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0) return 0;
    if (flock(file, LOCK_EX | LOCK_NB) == 0) return 1;
    close(file);
    return 0;
}

/* Chooses `wanted` IPUs of the job for this step: those that no other step has, and only after a while, as --overlap
 * permits, those of another. */
static void choose(const int *of_job, int count, int wanted)
{
    char chosen[MOST_IPUS] = {0};
    int taken = 0;
    mkdir(lock_folder, 0755);
    for (int waited = 0; taken < wanted; waited += POLL_MS) {
        for (int i = 0; i < count && taken < wanted; i++)
            if (!chosen[i] && lock_one(of_job[i])) taken += chosen[i] = 1;
        if (taken == wanted || waited >= WAIT_MS) break;
        nanosleep(&(struct timespec){0, POLL_MS * 1000000L}, NULL);
    }
    for (int i = 0; i < count && taken < wanted; i++)
        if (!chosen[i]) taken += chosen[i] = 1;
    for (int i = 0; i < count; i++)
        if (chosen[i]) ids[num_ids++] = of_job[i];
}

int slurm_spank_init(spank_t spank, int count, char **arguments)
{
    spank_context_t context = spank_context();
    if (context == S_CTX_SLURMD || context == S_CTX_JOB_SCRIPT) return ESPANK_SUCCESS;
    if (read_arguments(count, arguments) != ESPANK_SUCCESS) return ESPANK_BAD_ARG;
    return spank_option_register(spank, &ipus_option);
}

int slurm_spank_init_post_opt(spank_t spank, int count, char **arguments)
{
    (void)count, (void)arguments;
    if (spank_context() != S_CTX_REMOTE) return ESPANK_SUCCESS;
    static int of_job[MOST_IPUS];
    char node[256] = "";
    uint32_t job_id = 0, step_id = 0, place = 0;
    if (spank_get_item(spank, S_JOB_ID, &job_id) != ESPANK_SUCCESS ||
        spank_get_item(spank, S_JOB_STEPID, &step_id) != ESPANK_SUCCESS ||
        spank_get_item(spank, S_JOB_NODEID, &place) != ESPANK_SUCCESS)
        return ESPANK_ERROR;
    int is_step = step_id <= SLURM_MAX_NORMAL_STEP_ID; /* else a batch script or a shell, which has all of the job's */
    int wanted = is_step ? ipus_of_step(job_id, step_id, place, node, sizeof node) : 0;
    int available = ipus_of_job(job_id, node, place, of_job);
    if (!is_step || available == 0) wanted = available;
    if (wanted < 0 || wanted > available) {
        slurm_error("ipus: the controller does not say which IPUs job %u has on this node.", job_id);
        return ESPANK_ERROR;
    }
    if (is_step)
        choose(of_job, available, wanted);
    else
        memcpy(ids, of_job, sizeof(int) * (size_t)(num_ids = wanted));
    return ESPANK_SUCCESS;
}

/* Says what is wrong with `srun NAME=value program`, which Slurm takes for a program called "NAME=value". */
static void explain_assignment(spank_t spank)
{
    int count = 0;
    char **words = NULL;
    if (spank_get_item(spank, S_JOB_ARGV, &count, &words) != ESPANK_SUCCESS || count < 1) return;
    size_t name = strcspn(words[0], "=/");
    if (name && words[0][name] == '=' && access(words[0], F_OK) != 0)
        slurm_spank_log("%.*s= stands after srun, where a program is expected; write %.*s=... srun ... program.",
                        (int)name, words[0], (int)name, words[0]);
}

int slurm_spank_task_init(spank_t spank, int count, char **arguments)
{
    (void)count, (void)arguments;
    char list[LIST_BYTES] = "", text[32];
    uint32_t tasks = 1, job_id = 0;
    int task = 0, first = 0, mine = num_ids;
    spank_get_item(spank, S_JOB_LOCAL_TASK_COUNT, &tasks);
    spank_get_item(spank, S_TASK_ID, &task);
    spank_get_item(spank, S_JOB_ID, &job_id);
    if (tasks > 1 && num_ids % (int)tasks == 0) { /* ranks: each has its own part, else all have all */
        mine = num_ids / (int)tasks;
        first = task * mine;
    }
    for (int i = first, at = 0; i < first + mine; i++)
        at += snprintf(list + at, sizeof list - (size_t)at, i > first ? ",%d" : "%d", ids[i]);
    snprintf(text, sizeof text, "%d", mine);
    spank_setenv(spank, "POPVISION_IPUS", text, 1);
    snprintf(text, sizeof text, "slurm_%u", job_id);
    if (mine) {
        spank_setenv(spank, "POPVISION_IPU_IDS", list, 1);
        spank_setenv(spank, "IPUOF_VIPU_API_PARTITION_ID", text, 1);
    } else { /* what the shell that submitted the job had is not the job's */
        spank_unsetenv(spank, "POPVISION_IPU_IDS");
        spank_unsetenv(spank, "IPUOF_VIPU_API_PARTITION_ID");
    }
    explain_assignment(spank);
    return ESPANK_SUCCESS;
}
