/* The two inner loops of a step, compiled: the norm-constrained logistic fit and the projections
 * onto the cone of the answers. The same algorithms stand in NumPy in mle.py and cone.py, which
 * explain them; tests hold the two to the same results. All arrays are float64, rows contiguous.
 * Only the stable C interface is used, so one build serves every Python from 3.11 on.
 */
#include <Python.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- arrays ------------------------------------------------------------------------------ */

typedef struct {
    Py_buffer view;
    double *data;
    Py_ssize_t rows, columns, stride; /* stride: doubles from one row to the next */
} Matrix;

static int matrix_open(Matrix *m, PyObject *object, int dimensions, int writable) {
    int flags = PyBUF_STRIDES | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
    if (PyObject_GetBuffer(object, &m->view, flags) < 0) return -1;
    const Py_buffer *v = &m->view;
    int last = v->ndim - 1;
    if (v->ndim != dimensions || v->itemsize != sizeof(double) || !v->format ||
        strcmp(v->format, "d") != 0 || (v->shape[last] > 1 && v->strides[last] != sizeof(double))) {
        PyBuffer_Release(&m->view);
        PyErr_SetString(PyExc_TypeError, "expected a float64 array with contiguous rows");
        return -1;
    }
    m->data = v->buf;
    m->rows = dimensions == 2 ? v->shape[0] : 1;
    m->columns = v->shape[last];
    m->stride = dimensions == 2 ? v->strides[0] / (Py_ssize_t)sizeof(double) : m->columns;
    return 0;
}

static int open_all(Matrix *m, PyObject **objects, const int *dimensions, const int *writable,
                    int count) {
    for (int i = 0; i < count; i++) {
        if (matrix_open(&m[i], objects[i], dimensions[i], writable[i]) < 0) {
            while (i-- > 0) PyBuffer_Release(&m[i].view);
            return -1;
        }
    }
    return 0;
}

static void close_all(Matrix *m, int count) {
    for (int i = 0; i < count; i++) PyBuffer_Release(&m[i].view);
}

static double dot(const double *x, const double *y, Py_ssize_t n) {
    double a = 0, b = 0, c = 0, e = 0;
    Py_ssize_t i = 0;
    for (; i + 3 < n; i += 4) {
        a += x[i] * y[i];
        b += x[i + 1] * y[i + 1];
        c += x[i + 2] * y[i + 2];
        e += x[i + 3] * y[i + 3];
    }
    for (; i < n; i++) a += x[i] * y[i];
    return (a + b) + (c + e);
}

/* Solve L y = b in place (forward), and L' x = y in place (backward); L has row length ld. */
static void forward(const double *L, Py_ssize_t ld, double *b, Py_ssize_t n) {
    for (Py_ssize_t i = 0; i < n; i++) b[i] = (b[i] - dot(L + i * ld, b, i)) / L[i * ld + i];
}

static void backward(const double *L, Py_ssize_t ld, double *b, Py_ssize_t n) {
    for (Py_ssize_t i = n; i-- > 0;) {
        double x = b[i] /= L[i * ld + i];
        const double *row = L + i * ld;
        for (Py_ssize_t j = 0; j < i; j++) b[j] -= row[j] * x;
    }
}

/* ---- projection onto the cone: non-negative least squares on the Gram matrix -------------- */

typedef struct {
    Py_ssize_t t, p;       /* answers; size of the passive set */
    Py_ssize_t *passive;   /* (t) indices, in the order of the factor's rows */
    char *state;           /* (t) 0 free, 1 passive, 2 blocked until the passive set changes */
    double *factor;        /* (t, t) Cholesky factor of the passive Gram matrix */
    double *z, *w;         /* (t) passive solution; descent direction */
} Active;

static int factor_append(Active *s, const Matrix *gram, Py_ssize_t j) {
    double *row = s->factor + s->p * s->t;
    for (Py_ssize_t i = 0; i < s->p; i++) row[i] = gram->data[j * gram->stride + s->passive[i]];
    forward(s->factor, s->t, row, s->p);
    double own = gram->data[j * gram->stride + j];
    double rest = own - dot(row, row, s->p);
    if (rest <= 1e-13 * own) return 0; /* in the span of the passive rows already */
    row[s->p] = sqrt(rest);
    s->passive[s->p++] = j;
    s->state[j] = 1;
    return 1;
}

static void passive_solution(Active *s, const double *q) {
    for (Py_ssize_t i = 0; i < s->p; i++) s->z[i] = -q[s->passive[i]];
    forward(s->factor, s->t, s->z, s->p);
    backward(s->factor, s->t, s->z, s->p);
}

/* Move lam towards z until a coordinate meets zero, drop it, refactor; repeat until z > 0. */
static void restore_sign(Active *s, const Matrix *gram, const double *q, double *lam) {
    for (;;) {
        double step = 1.0;
        Py_ssize_t worst = -1;
        for (Py_ssize_t i = 0; i < s->p; i++) {
            if (s->z[i] > 0) continue;
            double now = lam[s->passive[i]];
            double limit = now / (now - s->z[i]);
            if (worst < 0 || limit < step) step = limit, worst = i;
        }
        if (worst < 0) break;
        Py_ssize_t dropped = s->passive[worst], kept = 0, before = s->p;
        for (Py_ssize_t i = 0; i < before; i++) {
            Py_ssize_t j = s->passive[i];
            lam[j] += step * (s->z[i] - lam[j]);
        }
        lam[dropped] = 0.0;
        for (Py_ssize_t i = 0; i < before; i++) {
            Py_ssize_t j = s->passive[i];
            s->state[j] = 0;
            if (lam[j] > 0) s->passive[kept++] = j;
            else lam[j] = 0.0;
        }
        s->p = 0;
        for (Py_ssize_t i = 0; i < kept; i++) {
            Py_ssize_t j = s->passive[i];
            if (!factor_append(s, gram, j)) lam[j] = 0.0;
        }
        passive_solution(s, q);
    }
    for (Py_ssize_t i = 0; i < s->p; i++) lam[s->passive[i]] = s->z[i];
}

/* Return |P(c)|^2, or any upper bound on it that is below `floor`. lam (t) receives the dual. */
static double project_one(Active *s, const Matrix *gram, const double *q, double square,
                          double floor, double *lam) {
    Py_ssize_t t = s->t;
    double tolerance = 1e-10 * sqrt(square), value = square;
    s->p = 0;
    memset(s->state, 0, (size_t)t);
    memset(lam, 0, (size_t)t * sizeof(double));
    for (Py_ssize_t i = 0; i < t; i++) s->w[i] = -q[i];
    for (Py_ssize_t round = 0; round < 10 * t + 10; round++) {
        double most = 0.0;
        Py_ssize_t enter = -1;
        for (Py_ssize_t j = 0; j < t; j++) {
            double own = gram->data[j * gram->stride + j];
            if (s->state[j] || s->w[j] <= 0 || own <= 0) continue;
            double rate = s->w[j] / sqrt(own);
            if (rate > tolerance && rate > most) most = rate, enter = j;
        }
        if (enter < 0) break;
        if (!factor_append(s, gram, enter)) {
            s->state[enter] = 2;
            continue;
        }
        passive_solution(s, q);
        if (s->z[s->p - 1] <= 0) { /* rounding alone made it look useful */
            s->p--;
            s->state[enter] = 2;
            continue;
        }
        restore_sign(s, gram, q, lam);
        value = square;
        for (Py_ssize_t i = 0; i < s->p; i++) value += q[s->passive[i]] * lam[s->passive[i]];
        if (value < floor) return value;
        for (Py_ssize_t j = 0; j < t; j++) {
            if (s->state[j] == 2) s->state[j] = 0;
            double sum = q[j];
            const double *row = gram->data + j * gram->stride;
            for (Py_ssize_t i = 0; i < s->p; i++) sum += row[s->passive[i]] * lam[s->passive[i]];
            s->w[j] = -sum;
        }
    }
    return value;
}

PyDoc_STRVAR(project_doc,
"project(gram, products, squares, bounds, duals, best, slack) -> (best, done)\n\n"
"Project differences c_i onto {x : A x >= 0}, in decreasing order of `bounds`, until the next bound\n"
"is below `best - slack`. gram (t, t) = A A'; products (n, t) = A c_i; squares (n) = |c_i|^2;\n"
"bounds (n) upper bounds on |P(c_i)|, overwritten by the exact value or a lower upper bound;\n"
"duals (n, t) receives the multipliers. Returns the largest value and how many were looked at.");

static PyObject *project(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *objects[5];
    double best, slack;
    if (!PyArg_ParseTuple(args, "OOOOOdd", &objects[0], &objects[1], &objects[2], &objects[3],
                          &objects[4], &best, &slack))
        return NULL;
    Matrix m[5];
    const int dimensions[] = {2, 2, 1, 1, 2}, writable[] = {0, 0, 0, 1, 1};
    if (open_all(m, objects, dimensions, writable, 5) < 0) return NULL;
    Py_ssize_t t = m[0].rows, n = m[1].rows, done = 0;
    if (m[0].columns != t || m[1].columns != t || m[2].columns != n || m[3].columns != n ||
        m[4].rows != n || m[4].columns != t) {
        close_all(m, 5);
        PyErr_SetString(PyExc_ValueError, "project: the arrays' shapes do not agree");
        return NULL;
    }
    size_t cells = (size_t)(t * t + 2 * t) * sizeof(double);
    char *memory = malloc(cells + (size_t)t * (sizeof(Py_ssize_t) + 1) + 1);
    if (!memory) {
        close_all(m, 5);
        return PyErr_NoMemory();
    }
    Active s = {.t = t};
    s.factor = (double *)memory;
    s.z = s.factor + t * t;
    s.w = s.z + t;
    s.passive = (Py_ssize_t *)(memory + cells);
    s.state = memory + cells + (size_t)t * sizeof(Py_ssize_t);
    Py_BEGIN_ALLOW_THREADS
    for (; done < n && m[3].data[done] >= best - slack; done++) {
        double low = best - slack;
        double value = project_one(&s, &m[0], m[1].data + done * m[1].stride, m[2].data[done],
                                   low > 0 ? low * low : 0.0, m[4].data + done * m[4].stride);
        value = value > 0 ? sqrt(value) : 0.0;
        if (value < m[3].data[done]) m[3].data[done] = value;
        if (m[3].data[done] > best) best = m[3].data[done];
    }
    Py_END_ALLOW_THREADS
    free(memory);
    close_all(m, 5);
    return Py_BuildValue("dn", best, done);
}

/* ---- the logistic fit in a ball ----------------------------------------------------------- */

static double softplus(double x) { return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)); }

static double objective(const Matrix *B, const double *tilt, const double *w) {
    double sum = -dot(tilt, w, B->columns);
    for (Py_ssize_t i = 0; i < B->rows; i++)
        sum += softplus(-dot(B->data + i * B->stride, w, B->columns));
    return sum;
}

/* Gradient g (r) and the lower triangle of the Hessian H (r, r) at w. */
static void derivatives(const Matrix *B, const double *tilt, const double *w, double *g,
                        double *H) {
    Py_ssize_t r = B->columns;
    for (Py_ssize_t j = 0; j < r; j++) g[j] = -tilt[j];
    memset(H, 0, (size_t)(r * r) * sizeof(double));
    for (Py_ssize_t i = 0; i < B->rows; i++) {
        const double *b = B->data + i * B->stride;
        Py_ssize_t end = r; /* a row of the growing basis ends in zeros: skip them */
        while (end > 0 && b[end - 1] == 0.0) end--;
        double miss = 1.0 / (1.0 + exp(dot(b, w, r))), weight = miss * (1.0 - miss);
        for (Py_ssize_t j = 0; j < end; j++) {
            double scaled = weight * b[j], *row = H + j * r;
            g[j] -= miss * b[j];
            for (Py_ssize_t k = 0; k <= j; k++) row[k] += scaled * b[k];
        }
    }
}

static int cholesky(const double *H, double shift, double *L, Py_ssize_t r) {
    for (Py_ssize_t j = 0; j < r; j++) {
        double *row = L + j * r;
        for (Py_ssize_t k = 0; k <= j; k++) {
            double sum = H[j * r + k] - dot(row, L + k * r, k) + (j == k ? shift : 0.0);
            if (j != k) row[k] = sum / L[k * r + k];
            else if (sum <= 0) return -1;
            else row[k] = sqrt(sum);
        }
    }
    return 0;
}

/* Minimise the quadratic model over the ball: v = (H + mu I)^-1 rhs with |v| <= S. */
static int ball_step(const double *H, const double *rhs, double radius, double ridge, double *mu,
                     double *L, double *v, double *u, Py_ssize_t r) {
    for (int round = 0; round < 60; round++) {
        if (cholesky(H, *mu + ridge, L, r) < 0) {
            *mu = 2 * *mu + 1e-8;
            continue;
        }
        memcpy(v, rhs, (size_t)r * sizeof(double));
        forward(L, r, v, r);
        backward(L, r, v, r);
        double norm = sqrt(dot(v, v, r));
        if ((norm <= radius && *mu <= 0) || fabs(norm - radius) <= 1e-11 * radius) return 0;
        memcpy(u, v, (size_t)r * sizeof(double));
        forward(L, r, u, r);
        if (norm == 0.0) *mu = 0;
        else *mu += (norm - radius) / radius * norm * norm / dot(u, u, r);
        if (*mu < 0) *mu = 0;
    }
    return -1;
}

static int fit(const Matrix *B, double radius, const double *tilt, double *w, double *mu,
               double *work) {
    Py_ssize_t r = B->columns;
    double *H = work, *L = H + r * r, *g = L + r * r, *v = g + r, *u = v + r, *rhs = u + r;
    double norm = sqrt(dot(w, w, r));
    if (norm > radius)
        for (Py_ssize_t j = 0; j < r; j++) w[j] *= radius / norm;
    for (int round = 0; round < 200; round++) {
        derivatives(B, tilt, w, g, H);
        double trace = 0.0;
        for (Py_ssize_t j = 0; j < r; j++) {
            for (Py_ssize_t k = 0; k < j; k++) H[k * r + j] = H[j * r + k];
            trace += H[j * r + j];
        }
        for (Py_ssize_t j = 0; j < r; j++) rhs[j] = dot(H + j * r, w, r) - g[j];
        if (ball_step(H, rhs, radius, 1e-14 * (1.0 + trace), mu, L, v, u, r) < 0) return -1;
        double length = 0.0, slope = 0.0;
        for (Py_ssize_t j = 0; j < r; j++) {
            u[j] = v[j] - w[j];
            length += u[j] * u[j];
            slope += g[j] * u[j];
        }
        length = sqrt(length);
        if (!(length < INFINITY)) return -1;
        double step = 1.0, here = objective(B, tilt, w);
        int settled = length <= 1e-8 * radius || -slope <= 1e-15 * (1.0 + fabs(here));
        if (!settled && length > 1e-3 * radius) { /* near the end Newton's step needs no leash */
            for (; step > 1e-10; step *= 0.5) {
                for (Py_ssize_t j = 0; j < r; j++) v[j] = w[j] + step * u[j];
                if (objective(B, tilt, v) <= here + 1e-4 * step * slope) break;
            }
        }
        for (Py_ssize_t j = 0; j < r; j++) w[j] += step * u[j];
        if (settled) return round + 1;
    }
    return -1;
}

PyDoc_STRVAR(fit_doc,
"fit(B, radius, tilt, w, mu) -> (loss, mu, rounds)\n\n"
"Minimise sum_i log(1 + exp(-<b_i, w>)) - <tilt, w> over |w| <= radius. B (t, r), tilt (r);\n"
"w (r) holds the start and receives the solution, mu is the start of the ball's multiplier.\n"
"Returns the log-loss without the tilt, the multiplier, and the number of rounds (-1: failed).");

static PyObject *fit_py(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *objects[3];
    double radius, mu;
    if (!PyArg_ParseTuple(args, "OdOOd", &objects[0], &radius, &objects[1], &objects[2], &mu))
        return NULL;
    Matrix m[3];
    const int dimensions[] = {2, 1, 1}, writable[] = {0, 0, 1};
    if (open_all(m, objects, dimensions, writable, 3) < 0) return NULL;
    Py_ssize_t r = m[0].columns;
    double *work = NULL, loss = 0.0;
    int rounds = 0;
    if (m[1].columns != r || m[2].columns != r)
        PyErr_SetString(PyExc_ValueError, "fit: the arrays' shapes do not agree");
    else if (!(work = malloc((size_t)(2 * r * r + 4 * r + 1) * sizeof(double))))
        PyErr_NoMemory();
    else {
        Py_BEGIN_ALLOW_THREADS
        rounds = fit(&m[0], radius, m[1].data, m[2].data, &mu, work);
        loss = objective(&m[0], m[1].data, m[2].data) + dot(m[1].data, m[2].data, r);
        Py_END_ALLOW_THREADS
        free(work);
    }
    close_all(m, 3);
    return PyErr_Occurred() ? NULL : Py_BuildValue("ddi", loss, mu, rounds);
}

static PyMethodDef methods[] = {
    {"project", project, METH_VARARGS, project_doc},
    {"fit", fit_py, METH_VARARGS, fit_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_kernel", "Compiled inner loops of useralign.geometry.", 0, methods,
    NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__kernel(void) { return PyModuleDef_Init(&module); }
